import { readFile } from 'node:fs/promises';

/** A bearer token and when it ends, in the form that Azure's clients take. */
export interface AccessToken {
  readonly token: string;
  readonly expiresOnTimestamp: number;
}

/** Gets tokens for the identity of this pod. Azure's clients take it as a TokenCredential. */
export interface WorkloadIdentity {
  /** A token for a scope such as `https://storage.azure.com/.default`. Rejects when Entra refuses, saying why. */
  readonly getToken: (scopes: string | Array<string>) => Promise<AccessToken>;
}

/** What the webhook of workload identity puts into a pod's environment. */
export interface FederatedIdentity {
  readonly clientId: string;
  readonly tenantId: string;
  readonly tokenFile: string;
  /** `https://login.microsoftonline.com/` unless the cloud is another. */
  readonly authority: string;
}

/** A token is replaced this long before it ends, so that none ends on its way. */
const AHEAD_MS = 5 * 60_000;

const TIMEOUT_MS = 15_000;

/**
 * Trades the pod's service account token for tokens of its Entra identity (OAuth client credentials with a federated
 * assertion). The general library costs more memory than the rest of the relay's code.
 */
export function createWorkloadIdentity({
  clientId,
  tenantId,
  tokenFile,
  authority,
}: FederatedIdentity): WorkloadIdentity {
  const tokens = new Map<string, AccessToken>();
  const url = new URL(
    `${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    authority.endsWith('/') ? authority : `${authority}/`,
  );

  async function request(scope: string): Promise<AccessToken> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      scope,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: (await readFile(tokenFile, 'utf8')).trim(),
    });
    const answer = await fetch(url, { method: 'POST', body: form, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = (await answer.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
    const { access_token: token, expires_in: seconds, error_description: why } = body;
    if (!answer.ok || typeof token !== 'string' || typeof seconds !== 'number') {
      throw new Error(
        `no token for ${scope}: answered ${answer.status} ${typeof why === 'string' ? why.slice(0, 300) : ''}`,
      );
    }
    return { token, expiresOnTimestamp: Date.now() + seconds * 1_000 };
  }

  return {
    async getToken(scopes) {
      const scope = typeof scopes === 'string' ? scopes : scopes.join(' ');
      const known = tokens.get(scope);
      if (known !== undefined && known.expiresOnTimestamp - AHEAD_MS > Date.now()) return known;
      const token = await request(scope);
      tokens.set(scope, token);
      return token;
    },
  };
}
