"""What people read: tables and sentences. Values in, lines out."""
