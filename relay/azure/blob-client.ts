import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { WorkloadIdentity } from './workload-identity.ts';

/** Where the storage account is and how to be let in. */
export type StorageSettings =
  | { readonly kind: 'connectionString'; readonly connectionString: string }
  | { readonly kind: 'identity'; readonly blobServiceUri: string; readonly identity: WorkloadIdentity };

/** An answer of the blob service, with header names in lower case. */
export interface BlobAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>;
  /** Of an answer to GET; empty for others. */
  readonly body: Uint8Array;
}

/**
 * The four requests of the blob service that the relay makes. The general client costs 28 MiB of memory, a fifth of
 * what the relay may use. test/contract/relay keeps it honest, on Azurite.
 */
export interface BlobClient {
  /** One request for `/container/blob`. Rejects only when no answer came, or one that is too large. */
  readonly request: (
    method: 'GET' | 'PUT' | 'HEAD',
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
  ) => Promise<BlobAnswer>;
  readonly close: () => void;
}

/** The service's version that we speak; its rules for signing are those of 2015-02-21 and later. */
const serviceVersion = '2023-11-03';

/** Longest that a request may be silent. A snapshot is some MB. */
const TIMEOUT_MS = 15_000;

/** The relay reads figures of plans, some KiB, and nothing else. */
const LARGEST_BODY = 65_536;

interface Account {
  readonly base: URL;
  readonly authorize: (method: string, url: URL, headers: Readonly<Record<string, string>>) => Promise<string>;
}

/** Makes a client. Throws TypeError naming what a connection string lacks. */
export function createBlobClient(settings: StorageSettings): BlobClient {
  const account = settings.kind === 'identity' ? identityAccount(settings) : keyAccount(settings.connectionString);
  const isHttps = account.base.protocol === 'https:';
  const agent = isHttps ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });

  async function request(
    method: 'GET' | 'PUT' | 'HEAD',
    path: string,
    given: Readonly<Record<string, string>>,
    body: Uint8Array,
  ): Promise<BlobAnswer> {
    const url = new URL(`${account.base.pathname.replace(/\/$/, '')}${path}`, account.base);
    const headers = {
      ...given,
      'x-ms-date': new Date().toUTCString(),
      'x-ms-version': serviceVersion,
      ...(method === 'PUT' ? { 'content-length': String(body.byteLength) } : {}),
    };
    const authorization = await account.authorize(method, url, headers);
    return new Promise((resolve, reject) => {
      const sent = (isHttps ? httpsRequest : httpRequest)(url, {
        method,
        headers: { ...headers, authorization },
        agent,
        timeout: TIMEOUT_MS,
      });
      sent.on('timeout', () => sent.destroy(new Error(`no byte from the storage account for ${TIMEOUT_MS} ms`)));
      sent.on('error', reject);
      sent.on('response', (answer) => {
        collect(answer, method === 'GET').then(
          (kept) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: kept }),
          reject,
        );
      });
      sent.end(body);
    });
  }

  return { request, close: () => agent.destroy() };
}

/** Reads an answer to its end; what is not asked for is let go. */
async function collect(answer: IncomingMessage, isWanted: boolean): Promise<Uint8Array> {
  const chunks: Array<Buffer> = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (!isWanted) continue;
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BODY) throw new Error(`the blob is larger than ${LARGEST_BODY} bytes`);
  }
  return Buffer.concat(chunks);
}

function identityAccount({ blobServiceUri, identity }: Extract<StorageSettings, { kind: 'identity' }>): Account {
  return {
    base: new URL(blobServiceUri),
    authorize: async () => `Bearer ${(await identity.getToken('https://storage.azure.com/.default')).token}`,
  };
}

/** Azurite's published account, which the connection string `UseDevelopmentStorage=true` stands for. */
const developmentAccount =
  'AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1';

function keyAccount(connectionString: string): Account {
  const given = /UseDevelopmentStorage=true/i.test(connectionString) ? developmentAccount : connectionString;
  const parts = new Map(
    given.split(';').map((part) => {
      const equals = part.indexOf('=');
      return [part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim()];
    }),
  );
  const name = parts.get('accountname');
  const key = parts.get('accountkey');
  if (name === undefined || key === undefined) {
    throw new TypeError('the storage connection string has no AccountName and AccountKey');
  }
  const protocol = parts.get('defaultendpointsprotocol') ?? 'https';
  const suffix = parts.get('endpointsuffix') ?? 'core.windows.net';
  const endpoint = parts.get('blobendpoint') ?? `${protocol}://${name}.blob.${suffix}`;
  if (!URL.canParse(endpoint)) throw new TypeError('the storage connection string has a BlobEndpoint that is no URL');
  const secret = Buffer.from(key, 'base64');
  return {
    base: new URL(endpoint),
    async authorize(method, url, headers) {
      const signature = createHmac('sha256', secret)
        .update(textToSign(name, method, url, headers))
        .digest('base64');
      return `SharedKey ${name}:${signature}`;
    },
  };
}

/** Headers whose values stand in the text to sign by place, in the service's order. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

function textToSign(account: string, method: string, url: URL, headers: Readonly<Record<string, string>>): string {
  const byPlace = signedHeaders.map((name) =>
    name === 'content-length' && headers[name] === '0' ? '' : (headers[name] ?? ''),
  );
  const byName = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .toSorted()
    .map((name) => `${name}:${headers[name]}`);
  const query = [...url.searchParams]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value}`);
  return [method, ...byPlace, ...byName, [`/${account}${url.pathname}`, ...query].join('\n')].join('\n');
}
