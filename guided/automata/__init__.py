"""Pattern tree -> NFA -> minimal byte DFA, and the algebra of automata."""
