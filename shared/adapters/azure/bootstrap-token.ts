import { randomBytes } from 'node:crypto';
import { RetryableError } from '../../ports/errors.ts';
import type { Kubernetes } from '../../ports/kubernetes.ts';

/** A node that has not joined by then never will: Karpenter's registration time-out, and as much again for slow images. */
const LIFETIME_MS = 30 * 60_000;

/** Bound by the deployment to `system:node-bootstrapper` and to the approval of client certificates. */
const GROUP = 'system:bootstrappers:nodewright';

/**
 * Mints a token that lets one machine ask for its client certificate: a Secret of its own that expires soon, so that
 * nothing has to be rotated and a token read from an old machine opens nothing. The control plane's token cleaner removes
 * it where that runs; expired, it is of no use to anybody.
 * Source: Kubernetes bootstrap tokens.
 */
export async function mintBootstrapToken(kubernetes: Kubernetes, claim: string, nowMs: number): Promise<string> {
  const id = randomBytes(3).toString('hex');
  const secret = randomBytes(8).toString('hex');
  const outcome = await kubernetes.create('Secret', {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: {
      name: `bootstrap-token-${id}`,
      namespace: 'kube-system',
      labels: { 'app.kubernetes.io/managed-by': 'nodewright' },
      annotations: { 'nodewright.dev/nodeclaim': claim },
    },
    stringData: {
      'token-id': id,
      'token-secret': secret,
      expiration: new Date(nowMs + LIFETIME_MS).toISOString(),
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': GROUP,
    },
  });
  if (outcome.kind !== 'created') {
    throw new RetryableError(
      `minting a bootstrap token: ${outcome.kind === 'refused' ? outcome.reason : 'the id is taken'}`,
    );
  }
  return `${id}.${secret}`;
}
