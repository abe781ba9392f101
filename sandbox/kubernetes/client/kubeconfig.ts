import { stringify } from 'yaml';

/** Where an API server is and what it takes to be let in. */
export interface KubeconfigParts {
  readonly url: string;
  readonly token: string;
  /** PEM in base64; empty for an API server without TLS. */
  readonly caData: string;
}

/** A kubeconfig as YAML, with one context named `sandbox`. */
export function renderKubeconfig({ url, token, caData }: KubeconfigParts): string {
  const trust = caData === '' ? {} : { 'certificate-authority-data': caData };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'sandbox', cluster: { server: url, ...trust } }],
    users: [{ name: 'sandbox', user: { token } }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user: 'sandbox' } }],
    'current-context': 'sandbox',
  });
}
