"""The faces of Ostiary: the web application, its pages, and the command line."""
