"""The model: one table of fields, the builder that fills it, and the arrays that come out."""
