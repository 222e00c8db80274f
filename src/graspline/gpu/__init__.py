"""Everything that only a GPU needs: engine, solver, worker processes, renderer, and certification on the CPU."""
