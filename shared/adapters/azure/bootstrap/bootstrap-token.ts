import { createHash, randomBytes } from 'node:crypto';
import { annotation } from '../../../contract/names.ts';
import { RetryableError } from '../../../ports/errors.ts';
import type { Kubernetes } from '../../../ports/kubernetes.ts';

/**
 * A node that has not joined by then never will: Karpenter's registration time-out, and as much again for slow images.
 */
const LIFETIME_MS = 30 * 60_000;

/** Bound by the deployment to `system:node-bootstrapper` and to the approval of client certificates. */
const GROUP = 'system:bootstrappers:nodewright';

/**
 * Deliveries of one claim's launch that a token was minted for and no machine made with; more in a row is no accident.
 */
const MINTS_MAX = 10;

/**
 * A claim that is not launched by then is given up. What is left of a token's lifetime is longer than a node may take
 * to join.
 */
const KEPT_MS = 5 * 60_000;

/**
 * Mints tokens as `mintBootstrapToken` does, one for all offerings that this process tries for a claim: what a refused
 * one was to have, nobody has.
 */
export function createTokens(kubernetes: Kubernetes, now: () => number): (claim: string) => Promise<string> {
  const kept = new Map<string, { readonly token: string; readonly untilMs: number }>();
  return async (claim) => {
    const nowMs = now();
    // Oldest first.
    for (const [other, { untilMs }] of kept) {
      if (untilMs > nowMs) break;
      kept.delete(other);
    }
    const known = kept.get(claim);
    if (known !== undefined) return known.token;
    const token = await mintBootstrapToken(kubernetes, claim, nowMs);
    kept.set(claim, { token, untilMs: nowMs + KEPT_MS });
    return token;
  };
}

/**
 * Mints a token that lets one machine ask for its client certificate: a Secret of its own that expires soon, so that
 * nothing has to be rotated and a token read from an old machine opens nothing. A launch that is delivered again mints
 * another, as the machine may have the first. Removed once the node has registered; the control plane's token cleaner
 * takes what is left over. Source: Kubernetes bootstrap tokens.
 */
export async function mintBootstrapToken(kubernetes: Kubernetes, claim: string, nowMs: number): Promise<string> {
  const secret = randomBytes(8).toString('hex');
  for (let mint = 0; mint < MINTS_MAX; mint++) {
    const id = tokenId(claim, mint);
    // Before there is a second, so that it cannot be overlooked.
    if (mint === 1) await noteSeveral(kubernetes, claim);
    // Each id is tried where the one before is taken.
    const outcome = await kubernetes.create('Secret', tokenSecret({ id, secret, claim, nowMs }));
    if (outcome.kind === 'created') return `${id}.${secret}`;
    if (outcome.kind === 'refused') throw new RetryableError(`minting a bootstrap token: ${outcome.reason}`);
  }
  throw new RetryableError(`minting a bootstrap token for ${claim}: ${MINTS_MAX} exist already`);
}

/** A launch that continues with the claim as it was before has a conflict, is delivered again, and finds this said. */
async function noteSeveral(kubernetes: Kubernetes, claim: string): Promise<void> {
  const patch = { metadata: { annotations: { [annotation.severalTokens]: 'true' } } };
  const outcome = await kubernetes.patch('NodeClaim', { name: claim, namespace: null }, patch);
  if (outcome.kind !== 'written')
    throw new RetryableError(`minting another bootstrap token for ${claim}: ${outcome.kind}`);
}

/**
 * Removes the tokens that a claim's launches minted: the first, and those that followed it where its annotation tells
 * of several.
 */
export async function revokeBootstrapTokens(kubernetes: Kubernetes, claim: string, areSeveral: boolean): Promise<void> {
  for (let mint = 0; mint < (areSeveral ? MINTS_MAX : 1); mint++) {
    const key = { name: secretName(tokenId(claim, mint)), namespace: NAMESPACE };
    // They are minted one after the other: the first that is not there ends it.
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
