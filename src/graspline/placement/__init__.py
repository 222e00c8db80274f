"""Where the next fruit may go on a plate, and evidence that it rests where asked."""
