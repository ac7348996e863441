# What a launcher runs: mpirun, as soon as all workers can be entered.
for host in $(cut -d' ' -f1 /etc/mpi/hostfile); do
  until /opt/kube/kubectl exec "$host" -- true; do sleep 1; done
done
exec mpirun.openmpi --allow-run-as-root python3 /programs/ranks.py
