"""One optimizer, run once as a user's script would: _peer.py NAME IN.onnx OUT.onnx. Each at its defaults; the
imports are inside, so that a process pays for what it uses."""

import sys


def onnxsim(source, target):
    sys.modules["torch"] = None  # it would be imported where it is installed, and is not needed
    import onnx
    import onnxsim as package

    model, valid = package.simplify(onnx.load(source))
    if not valid:
        raise RuntimeError("its own check failed")
    onnx.save(model, target)


def onnxslim(source, target):
    import onnx
    import onnxslim as package

    onnx.save(package.slim(source), target)


def onnxoptimizer(source, target):
    import onnx
    import onnxoptimizer as package

    passes = package.get_fuse_and_elimination_passes()
    onnx.save(package.optimize(onnx.load(source), passes, fixed_point=True), target)


def onnxscript(source, target):
    import onnx
    from onnxscript import optimizer, rewriter

    onnx.save(rewriter.rewrite(optimizer.optimize(onnx.load(source))), target)


def runtime(level, source, target):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = target
    options.log_severity_level = 3
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def ort_basic(source, target):
    runtime("ORT_ENABLE_BASIC", source, target)


def ort_extended(source, target):
    runtime("ORT_ENABLE_EXTENDED", source, target)


PEERS = (onnxsim, onnxslim, onnxoptimizer, onnxscript, ort_basic, ort_extended)

if __name__ == "__main__":
    {f.__name__: f for f in PEERS}[sys.argv[1]](sys.argv[2], sys.argv[3])
