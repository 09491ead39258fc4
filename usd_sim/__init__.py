"""USD-first physics simulation: a stage goes in, the same stage with time samples comes out."""
