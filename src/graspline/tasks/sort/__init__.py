"""`sort`: an arm sees blocks on a moving belt, catches them and puts each on the belt for its colour."""
