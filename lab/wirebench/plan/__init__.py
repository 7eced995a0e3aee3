"""What will be measured, in which order: blocks of trials, reproducible from one seed."""
