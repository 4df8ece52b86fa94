//! Sockets, clocks and processes of the operating systems, behind one safe interface.
