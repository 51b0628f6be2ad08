"""Running students' code where it can do no harm: jobs in, what each call gave out."""
