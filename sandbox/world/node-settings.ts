import { kubeletIdentity } from '../azure/state/kubelet-identity.ts';
import type { AzureOptions } from '../azure/state/options.ts';

/**
 * A key of RSA with 2,048 bits, made for this line; its private half was thrown away, so nobody logs in to a node of
 * the sandbox.
 */
const SSH_PUBLIC_KEY =
  'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDGqcVRXSTdqQcXvwZH+DrhFyyei8DyJqDcYEgxQESpjWImUqjRcffjG0rutLmxIAfr5SGxxByomPQR3f' +
  'Ino0jChXok6dFRBFUvGBzloDjpdLmHRoC8msvTIEyngTshzpdnwz76iqeIzmedO8u/27RBLwZTvxNh6BDn7bteq+EwdfGH0ITf6awDnbvOqJhPFTmaFNbr' +
  'FR/MXarU0B5QEd6AmZ0DgAGsw68Umr7slz1fN3IcNJ5NMhb1wcYaE1Y+1ZCdGDuwPp1q+Ym1oIkdDxENX0Q590P3alfL6Ar+6TQGgIVuJs4O0tlhOPTsPP' +
  'KPS0rPX3x9zf34un6Ub2xlvGk5 nobody@sandbox';

/**
 * App settings that Azure asks of every node: who may log in, and as whom its kubelet acts. An order may replace them.
 */
export function nodeSettings(
  azure: Pick<AzureOptions, 'subscriptionId' | 'resourceGroup' | 'clusterName'>,
): Readonly<Record<'SSH_PUBLIC_KEY' | 'NODE_IDENTITIES' | 'KUBELET_IDENTITY_CLIENT_ID', string>> {
  const { resourceId, clientId } = kubeletIdentity(azure);
  return { SSH_PUBLIC_KEY, NODE_IDENTITIES: resourceId, KUBELET_IDENTITY_CLIENT_ID: clientId };
}

/** The identities that nodes were ordered to have: in the sandbox they exist. */
export function orderedIdentities(settings: Readonly<Record<string, string>>): ReadonlyArray<string> {
  return (settings['NODE_IDENTITIES'] ?? '').split(',').filter(Boolean);
}
