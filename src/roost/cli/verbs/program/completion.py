"""roost completion: a shell completion script."""

from roost.cli.parse.options import Args, Operand, UsageError, Verb

VERB = Verb(
    "completion",
    "print a completion script for your shell",
    operands=(Operand("shell", "1", "SHELL", "bash, zsh or tcsh", ("bash", "zsh", "tcsh")),),
    examples=(
        ("roost completion bash > ~/.local/share/bash-completion/completions/roost", "for bash"),
        ("roost completion zsh > ~/.zfunc/_roost", "for zsh, with ~/.zfunc in fpath"),
    ),
)


def run(args: Args) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise UsageError("cli.needs_shtab") from None
    from roost.cli.parse.help_text import all_parsers

    print(shtab.complete(all_parsers(), args.shell))
    return 0
