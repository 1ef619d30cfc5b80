import torch_that_is_not_here

print(torch_that_is_not_here.ones(3))
