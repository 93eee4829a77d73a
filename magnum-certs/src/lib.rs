//! Cluster certificate authorities, CSR signing, kubeconfig and sealed storage
