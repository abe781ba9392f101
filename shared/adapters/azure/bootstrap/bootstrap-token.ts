import { createHash, randomBytes } from 'node:crypto';
import { RetryableError } from '../../../ports/errors.ts';
import type { Kubernetes } from '../../../ports/kubernetes.ts';

/** A node that has not joined by then never will: Karpenter's registration time-out, and as much again for slow images. */
const LIFETIME_MS = 30 * 60_000;

/** Bound by the deployment to `system:node-bootstrapper` and to the approval of client certificates. */
const GROUP = 'system:bootstrappers:nodewright';

/** Deliveries of one claim's launch that a token was minted for and no machine made with; more in a row is no accident. */
const MINTS_MAX = 10;

/**
 * Mints a token that lets one machine ask for its client certificate: a Secret of its own that expires soon, so that nothing has to
 * be rotated and a token read from an old machine opens nothing. A launch that is delivered again mints another, as the machine may
 * have the first. Removed once the node has registered; the control plane's token cleaner takes what is left over.
 * Source: Kubernetes bootstrap tokens.
 */
export async function mintBootstrapToken(kubernetes: Kubernetes, claim: string, nowMs: number): Promise<string> {
  const secret = randomBytes(8).toString('hex');
  for (let mint = 0; mint < MINTS_MAX; mint++) {
    const id = tokenId(claim, mint);
    // oxlint-disable-next-line no-await-in-loop -- each id is tried where the one before is taken
    const outcome = await kubernetes.create('Secret', tokenSecret({ id, secret, claim, nowMs }));
    if (outcome.kind === 'created') return `${id}.${secret}`;
    if (outcome.kind === 'refused') throw new RetryableError(`minting a bootstrap token: ${outcome.reason}`);
  }
  throw new RetryableError(`minting a bootstrap token for ${claim}: ${MINTS_MAX} are there already`);
}

/** Removes the tokens that a claim's launch minted. */
export async function revokeBootstrapToken(kubernetes: Kubernetes, claim: string): Promise<void> {
  for (let mint = 0; mint < MINTS_MAX; mint++) {
    const key = { name: secretName(tokenId(claim, mint)), namespace: NAMESPACE };
    // oxlint-disable-next-line no-await-in-loop -- they are minted one after the other: the first that is not there ends it
    if ((await kubernetes.delete('Secret', key)) === 'not-found') return;
  }
}

const NAMESPACE = 'kube-system';

function secretName(id: string): string {
  return `bootstrap-token-${id}`;
}

/** Base 36, as Kubernetes wants ids. */
const ID_LENGTH = 6;
const IDS = 36 ** ID_LENGTH;

/** Found again from the claim's name, as nobody but the control plane may read these Secrets. An id is no secret. */
function tokenId(claim: string, mint: number): string {
  const digest = createHash('sha256').update(`${claim}/${mint}`).digest();
  return (digest.readUIntBE(0, 6) % IDS).toString(36).padStart(ID_LENGTH, '0');
}

function tokenSecret({
  id,
  secret,
  claim,
  nowMs,
}: {
  readonly id: string;
  readonly secret: string;
  readonly claim: string;
  readonly nowMs: number;
}): Parameters<Kubernetes['create']>[1] {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: {
      name: secretName(id),
      namespace: NAMESPACE,
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
  };
}
