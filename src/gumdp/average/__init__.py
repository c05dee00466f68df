"""The infinite-trials programme: the policy that is best on average."""
