# The operator's image: a Python interpreter, the operator's packages and /manager; no shell, no package manager.
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/training-operator:TAG --push .
#   docker buildx build --target sbom --output build/sbom .
# Nothing is compiled: every dependency has wheels for both architectures. docs/image.md says what was tried.

# The index of both architectures. Another image needs Python 3.11 or newer with venv and pip.
ARG PYTHON_IMAGE=docker.io/library/python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
# Seconds since 1970 that all files are from, so that the same sources make the same bytes.
ARG SOURCE_DATE_EPOCH=1763683200

# Our own wheel, once for all architectures, and the tools that describe what is in the image.
FROM --platform=$BUILDPLATFORM ${PYTHON_IMAGE} AS wheel
WORKDIR /sources
COPY constraints-package.txt ./
RUN python3 -m venv /tools && /tools/bin/pip install --no-cache-dir --require-hashes --requirement constraints-package.txt
COPY LICENSE README.md pyproject.toml ./
COPY api api
COPY controllers controllers
COPY operator operator
COPY local local
COPY migration migration
COPY console console
COPY examples examples
ARG SOURCE_DATE_EPOCH
RUN /tools/bin/python -m build --wheel --no-isolation --outdir /wheels

# What runs: dependencies as pinned, of the architecture that is asked for.
FROM ${PYTHON_IMAGE} AS environment
COPY constraints-image.txt /
RUN python3 -m venv /venv \
 && /venv/bin/pip wheel --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
      --requirement /constraints-image.txt --wheel-dir /wheels
COPY --from=wheel /wheels /wheels
RUN /venv/bin/pip install --no-index --no-deps --no-compile /wheels/*.whl \
 && /venv/bin/pip check \
 && /venv/bin/pip uninstall --yes pip setuptools

FROM environment AS root
ARG SOURCE_DATE_EPOCH
COPY deploy/image/root.py /
RUN PYTHONHASHSEED=0 python3 /root.py /image

# Everything of Python that is in the image, in the format CycloneDX.
FROM wheel AS description
COPY --from=environment /venv /venv
RUN /tools/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --output-file /sbom.cdx.json /venv

FROM scratch AS sbom
COPY --from=description /sbom.cdx.json /

FROM scratch
COPY --from=root /image /
ENV PATH=/venv/bin
LABEL org.opencontainers.image.title="training-operator" \
      org.opencontainers.image.description="Runs distributed training jobs (kubeflow.org/v1) on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/manager"]
# For Docker and Podman; Kubernetes asks the probes of deploy/base/deployment.yaml, and OCI's format has no such thing.
HEALTHCHECK --start-period=15s CMD ["/venv/bin/python", "-c", \
  "from urllib.request import urlopen; urlopen('http://127.0.0.1:8081/healthz', timeout=3)"]
