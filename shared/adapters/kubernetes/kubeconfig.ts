import type https from 'node:https';
import { TerminalError } from '../../ports/errors.ts';
import type { ApiServer } from './transport.ts';

/**
 * The API server that a kubeconfig's current context names, with every kind of credential that the library knows
 * (tokens, client certificates, exec plug-ins). Loaded only where a kubeconfig is used: it is the largest package we
 * have.
 */
export async function fromKubeconfig(path: string): Promise<ApiServer> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const url = config.getCurrentCluster()?.server;
  if (url === undefined) throw new TerminalError(`KUBECONFIG ${path} has no current cluster: set current-context`);
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  return {
    url,
    tls: Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)),
    headers: async () => {
      const fresh: https.RequestOptions = {};
      await config.applyToHTTPSOptions(fresh);
      const entries = Object.entries(fresh.headers ?? {}).map(([name, value]) => [name, String(value)] as const);
      return Object.fromEntries(entries);
    },
  };
}
