module wirebench/nethttp

go 1.22
