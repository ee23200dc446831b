"""Telling people: what a message says, where it may go, and the program that sends it. Decides nothing about jobs."""
