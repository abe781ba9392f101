import { createHash } from 'node:crypto';
import type { ArmRequest, ArmResponse, Host, Route } from '../../arm/router.ts';
import { ok } from '../../arm/router.ts';
import { APP_ID, DEPLOYER } from '../../state/identities.ts';
import type { Management } from '../management.ts';
import { filesInZip } from '../zip.ts';
import { APP_KEY } from './sites.ts';

/** Hosts beside Resource Manager that az reaches for on the way: a proxy brings it here. */
export function hostsOf(management: Management): ReadonlyArray<Host> {
  return [
    { suffix: '.scm.azurewebsites.net', routes: (name) => publishRoutes(management, name) },
    { suffix: '.azurewebsites.net', routes: (name) => appRoutes(management, name) },
    { suffix: '.blob.core.windows.net', routes: () => blobRoutes(management) },
    { suffix: '.azurecr.io', routes: (name) => imageRoutes(management, name) },
    { suffix: 'graph.microsoft.com', routes: () => directoryRoutes(management) },
  ];
}

const text = (status: number, body: string): ArmResponse => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body,
});

/** Where the code goes: Kudu. */
function publishRoutes({ sites }: Management, name: string): ReadonlyArray<Route> {
  return [
    {
      method: 'POST',
      pattern: '/api/publish',
      answer: ({ bytes }) => {
        const site = sites.get(name.toLowerCase());
        if (site === undefined) return text(404, 'no such site');
        if (!filesInZip(bytes).has('host.json')) return text(400, 'The zip has no host.json at its root.');
        sites.set(name.toLowerCase(), {
          ...site,
          codeBytes: bytes.length,
          codeDigest: createHash('sha256').update(bytes).digest('hex'),
        });
        return { status: 202, headers: { 'Content-Type': 'application/json' }, body: '"deployment-1"' };
      },
    },
    {
      method: 'GET',
      pattern: '/api/deployments/latest',
      answer: ({ ending }) => ok({ id: 'deployment-1', status: ending === null ? 4 : 3, complete: true, active: true }),
    },
  ];
}

/** The app itself: it works once it has code, and hears the relay once the chart is there. */
function appRoutes({ sites, inCluster }: Management, name: string): ReadonlyArray<Route> {
  const open = ({ headers }: ArmRequest): ArmResponse | null => {
    if ((sites.get(name.toLowerCase())?.codeBytes ?? 0) === 0) return text(503, 'Function host is not running.');
    return headers['x-functions-key'] === APP_KEY ? null : text(401, '');
  };
  return [
    {
      method: 'GET',
      pattern: '/admin/host/status',
      answer: (request) => open(request) ?? ok({ id: name, state: 'Running' }),
    },
    {
      method: 'GET',
      pattern: '/api/health',
      answer: (request) => {
        const { isInstalled } = inCluster;
        const problems = isInstalled ? [] : ['no snapshot of the relay has come yet'];
        return open(request) ?? ok({ isReady: isInstalled, problems, snapshotAgeMs: isInstalled ? 4_000 : null });
      },
    },
  ];
}

/** Blobs, under a signature that nobody checks. */
function blobRoutes({ blobs }: Management): ReadonlyArray<Route> {
  const read = ({ path, headers, method }: ArmRequest): ArmResponse => {
    const found = blobs.get(path);
    if (found === undefined) return { status: 404, headers: { 'x-ms-error-code': 'BlobNotFound' }, body: null };
    const [, from = '0', to = String(found.length - 1)] =
      /bytes=(\d+)-(\d+)/.exec(String(headers['x-ms-range'] ?? headers['range'])) ?? [];
    const part = found.subarray(Number(from), Math.min(Number(to) + 1, found.length));
    const kept = {
      'Content-Type': 'application/octet-stream',
      'Content-Length': String(method === 'HEAD' ? found.length : part.length),
      'Content-Range': `bytes ${from}-${Number(from) + part.length - 1}/${found.length}`,
      'Last-Modified': new Date(0).toUTCString(),
      ETag: '"1"',
      'x-ms-blob-type': 'BlockBlob',
      'x-ms-meta-complete': 'successful',
      'x-ms-meta-Complete': 'successful',
    };
    return {
      status: method === 'HEAD' ? 200 : 206,
      headers: kept,
      body: method === 'HEAD' ? null : part.toString('utf8'),
    };
  };
  const at = '/{container}/{name}';
  return [
    {
      method: 'PUT',
      pattern: at,
      answer: ({ path, bytes }) => {
        blobs.set(path, bytes);
        return { status: 201, headers: { ETag: '"1"', 'Last-Modified': new Date(0).toUTCString() }, body: null };
      },
    },
    { method: 'HEAD', pattern: at, answer: read },
    { method: 'GET', pattern: at, answer: read },
  ];
}

/** A registry's own host: who asks shows a token of Azure, and gets one of the registry's. */
function imageRoutes({ registries }: Management, name: string): ReadonlyArray<Route> {
  const token = `eyJhbGciOiJub25lIn0.${Buffer.from('{"exp":4102444800}').toString('base64url')}.`;
  return [
    {
      method: 'GET',
      pattern: '/v2',
      answer: () => ({
        status: 401,
        headers: {
          'WWW-Authenticate': `Bearer realm="https://${name}.azurecr.io/oauth2/token",service="${name}.azurecr.io"`,
        },
        body: { errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] },
      }),
    },
    { method: 'POST', pattern: '/oauth2/exchange', answer: () => ok({ refresh_token: token }) },
    { method: 'POST', pattern: '/oauth2/token', answer: () => ok({ access_token: token }) },
    {
      method: 'GET',
      pattern: '/acr/v1/{image}/_tags/{tag}',
      answer: (_request, { image = '', tag = '' }) => {
        const digest = registries.get(name.toLowerCase())?.images.get(`${image}:${tag}`);
        if (digest === undefined)
          return {
            status: 404,
            headers: {},
            body: { errors: [{ code: 'TAG_UNKNOWN', message: `${tag} is unknown` }] },
          };
        return ok({ registry: `${name}.azurecr.io`, imageName: image, tag: { name: tag, digest } });
      },
    },
  ];
}

/** Who is who: the service principal that is logged in, and identities by their object ids. */
function directoryRoutes({ identities }: Management): ReadonlyArray<Route> {
  return [
    {
      method: 'GET',
      pattern: '/v1.0/servicePrincipals',
      answer: ({ query }) => {
        const [, asked = ''] = /eq '([^']+)'/.exec(query.get('$filter') ?? '') ?? [];
        // Identities are asked for by their object id, which is no name of theirs.
        return ok({ value: asked === APP_ID ? [{ id: DEPLOYER, appId: asked }] : [] });
      },
    },
    {
      method: 'POST',
      pattern: '/v1.0/directoryObjects/getByIds',
      answer: ({ body }) => {
        const { ids } = body as { readonly ids?: ReadonlyArray<string> };
        const there = new Set([DEPLOYER, ...[...identities.values()].map(({ principalId }) => principalId)]);
        const found = (ids ?? []).filter((id) => there.has(id));
        return ok({ value: found.map((id) => ({ '@odata.type': '#microsoft.graph.servicePrincipal', id })) });
      },
    },
  ];
}
