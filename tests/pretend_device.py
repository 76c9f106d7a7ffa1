"""A pretended device, for want of a GPU: it computes on the CPU and refuses what CUDA refuses.

Its tensors report the device "away". An operation on tensors of two devices is refused, and so is
a CPU generator that draws for it, NumPy's view of a tensor that is not fetched, and an index on it
into a tensor that is not. A single number on the CPU may be read, but neither joined nor written
to. So a run on it finds the `.to(device)` that was forgotten.
"""

import torch
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

NAME = "away"
MAY_MIX = {"_to_copy", "copy_", "index", "index_put_", "_index_put_impl_"}
JOINING = {"cat", "stack"}  # of these, a single number is no constant but a part


class Away(torch.Tensor):
    """A tensor of the pretended device; its numbers lie in `here`."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, here):
        layout = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        kind = {"dtype": here.dtype, "device": f"{NAME}:0"}
        return torch.Tensor._make_wrapper_subclass(cls, here.shape, **layout, **kind)

    def __init__(self, here):
        self.here = here

    def __getitem__(self, key):
        def plain(part):  # PyTorch would make a tensor of it where no mode can see
            return torch.tensor(list(part)) if isinstance(part, range | list) else part

        key = tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)
        return torch.Tensor.__getitem__(self, key)

    def __repr__(self, **_):
        return f"{self.detach().here!r} on {NAME!r}"

    def tolist(self):
        return self.detach().here.tolist()

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        return compute(op, args, kwargs or {})


class Everywhere(TorchDispatchMode):
    """Lets functions without a tensor argument make one on the device."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        return compute(op, args, kwargs or {})


def compute(op, args, kwargs):
    """Compute on the CPU, unless a GPU would refuse."""
    leaves, name = tree_leaves((args, kwargs)), op._schema.name.removeprefix("aten::")
    away = {id(x.here): x for x in leaves if isinstance(x, Away)}
    to = kwargs.get("device")
    stays = torch.device(to).type == NAME if to is not None else bool(away)
    if not away and not stays:
        return op(*args, **kwargs)
    refuse_what_a_gpu_refuses(name, args, leaves)
    if name == "_fused_sdp_choice":
        return 0  # the kernel written in PyTorch's own operations
    bare_args, bare = tree_map(lambda x: x.here if isinstance(x, Away) else x, (args, kwargs))
    result = op(*bare_args, **bare | ({"device": "cpu"} if to is not None else {}))
    if not stays or name == "_local_scalar_dense":
        return result
    if name == "copy_":
        return args[0]

    def wrap(x):
        return (away[id(x)] if id(x) in away else Away(x)) if isinstance(x, torch.Tensor) else x

    return tree_map(wrap, result)


def refuse_what_a_gpu_refuses(name, args, leaves):
    """Raise RuntimeError where devices are mixed."""
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    away, here = (
        [
            x
            for x in tensors
            if isinstance(x, Away) is there and (there or x.ndim or name in JOINING)
        ]
        for there in (True, False)
    )
    if any(isinstance(x, torch.Generator) for x in leaves):
        raise RuntimeError(f"{name}: a CPU generator draws for a tensor on {NAME!r}")
    if away and here and name not in MAY_MIX:
        raise RuntimeError(f"{name}: tensors on the CPU and on {NAME!r}")
    if away and name.startswith("index") and not isinstance(args[0], Away):
        raise RuntimeError(f"{name}: an index on {NAME!r} into a tensor on the CPU")
    written = args[0] if name.endswith("_") and name != "copy_" and args else None
    if away and isinstance(written, torch.Tensor) and not isinstance(written, Away):
        raise RuntimeError(f"{name}: a tensor on the CPU can't take in what is on {NAME!r}")
    if "index_put" in name and any(x is args[2] for x in here):
        raise RuntimeError(f"{name}: numbers on the CPU for places on {NAME!r}")


def pretend():
    """Make the device known to this process, for good."""
    backend_registration._setup_privateuseone_for_python_backend(NAME)
    make, module = torch.tensor, torch.nn.Module

    def tensor(values, *, device=None, requires_grad=False, **options):
        made = make(values, **options) if device is None else make(values, **options).to(device)
        return made.requires_grad_() if requires_grad else made

    def keeping_ties(move):
        def moved(self, *args, **kwargs):
            torch.__future__.set_swap_module_params_on_conversion(True)
            try:
                return move(self, *args, **kwargs)
            finally:
                torch.__future__.set_swap_module_params_on_conversion(False)

        return moved

    torch.tensor, module.to, module.cpu = tensor, keeping_ties(module.to), keeping_ties(module.cpu)
    Everywhere().__enter__()
