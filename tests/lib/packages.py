"""ONNX Runtime's model packages, opened as it opens them."""

import json
import pathlib

import onnxruntime as ort

CPU, OTHER = "CPUExecutionProvider", "AzureExecutionProvider"  # the second runs no node of ONNX's own

ort.set_default_logger_severity(4)  # of sessions without options: rules for devices that are not here


class Package:
    def __init__(self, folder, *providers):
        """`providers`: what a session is to have, the first one chooses the variant; none: the CPU's."""
        self.folder = pathlib.Path(folder)
        ort.ModelPackage.open(str(folder))  # which refuses unknown keys
        self.context = ort.ModelPackageContext(str(folder))
        options = ort.SessionOptions()
        for provider in providers:
            options.add_provider(provider, {})
        self.options = ort.ModelPackageOptions(options)
        self.names = self.context.get_component_names()
        self.document = json.loads((self.folder / "manifest.json").read_text())

    def variants(self, component="model"):
        """{provider: the body of its variant}."""
        return {v["ep"]: v for v in self.document["components"][component]["variants"].values()}

    def setting(self, provider, component="model"):
        session = self.variants(component)[provider]["executor_info"]["ort"].get("session_options", {})
        return session.get("session.layer_assignment_settings")

    def sizes(self, component):
        return self.document["components"][component]["additional_metadata"]["sizes"]

    def file(self, component="model"):
        (name,) = {v["executor_info"]["ort"]["model_file"] for v in self.variants(component).values()}
        return self.folder / "models" / name

    def session(self, component="model", exact=False):
        """The name of the variant, and its session; `exact`: without ONNX Runtime's own optimizations, and
        with the session options of the package, which it then leaves to the caller."""
        selected = self.context.select_component(component, self.options)
        options = None
        if exact:
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            variant = self.document["components"][component]["variants"][selected.get_selected_variant_name()]
            for key, value in variant["executor_info"]["ort"].get("session_options", {}).items():
                options.add_session_config_entry(key, value)
        made = selected.create_session(options) if exact else selected.create_session()
        return selected.get_selected_variant_name(), made
