import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createBlobClient, type BlobClient, type StorageSettings } from '../../../../relay/azure/blob-client.ts';

const servers: Array<Server> = [];
const clients: Array<BlobClient> = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A client of a storage account on loopback that answers as the test says, and what that was asked. */
async function serving(
  answer: (response: ServerResponse) => void = (response) => void response.writeHead(201).end(),
  settings: (endpoint: string) => StorageSettings = signed(''),
) {
  const asked: Array<Asked> = [];
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      asked.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') });
      answer(response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = createBlobClient(settings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  clients.push(client);
  return { client, asked };
}

function signed(path: string) {
  return (endpoint: string): StorageSettings => ({
    kind: 'connectionString',
    connectionString: `BlobEndpoint=${endpoint}${path}; SharedAccessSignature=sv=1&sig=a%2Bb%3D`,
  });
}

const none = new Uint8Array();

describe('a request', () => {
  test('carries its body, its headers, the version that is spoken and the time', async () => {
    const { client, asked } = await serving();
    await client.request('PUT', '/c/b', { 'if-none-match': '*' }, Buffer.from('text'));
    expect(asked[0]).toMatchObject({ method: 'PUT', url: '/c/b?sv=1&sig=a%2Bb%3D', body: 'text' });
    expect(asked[0]?.headers).toMatchObject({
      'if-none-match': '*',
      'content-length': '4',
      'x-ms-version': '2023-11-03',
      'x-ms-date': expect.stringMatching(/ GMT$/) as string,
    });
  });

  test('keeps its own query beside the signature', async () => {
    const { client, asked } = await serving();
    await client.request('PUT', '/c?restype=container', {}, none);
    expect(asked[0]?.url).toBe('/c?restype=container&sv=1&sig=a%2Bb%3D');
    expect(asked[0]?.headers).toMatchObject({ 'content-length': '0' });
    expect(asked[0]?.headers.authorization).toBeUndefined();
  });

  test('that only reads says nothing of a length', async () => {
    const { client, asked } = await serving();
    await client.request('GET', '/c/b', {}, none);
    await client.request('HEAD', '/c/b', {}, none);
    expect(asked.map(({ headers }) => headers['content-length'])).toEqual([undefined, undefined]);
  });

  test('goes to the account’s own folder where its address has one', async () => {
    for (const path of ['/account', '/account/']) {
      const { client, asked } = await serving(undefined, signed(path));
      await client.request('GET', '/c/b', {}, none);
      expect(asked[0]?.url).toBe('/account/c/b?sv=1&sig=a%2Bb%3D');
    }
  });

  test('has the token of the identity where there is no signature', async () => {
    const scopes: Array<unknown> = [];
    const getToken = (scope: unknown) => {
      scopes.push(scope);
      return Promise.resolve({ token: 't', expiresOnTimestamp: 0 });
    };
    const { client, asked } = await serving(undefined, (blobServiceUri) => ({
      kind: 'identity',
      blobServiceUri,
      identity: { getToken },
    }));
    await client.request('GET', '/c/b', {}, none);
    expect(asked[0]?.headers.authorization).toBe('Bearer t');
    expect(scopes).toEqual(['https://storage.azure.com/.default']);
  });
});

describe('an answer', () => {
  test('has its status, its headers and, to a GET, its body', async () => {
    const { client } = await serving((response) => void response.writeHead(200, { etag: '"1"' }).end('text'));
    const read = await client.request('GET', '/c/b', {}, none);
    expect([read.status, read.headers['etag'], Buffer.from(read.body).toString('utf8')]).toEqual([200, '"1"', 'text']);
    const written = await client.request('PUT', '/c/b', {}, none);
    expect(written.body).toHaveLength(0);
  });

  test('that is larger than figures of plans can be is refused, and one as large is not', async () => {
    const of = async (bytes: number): Promise<number> => {
      const { client } = await serving((response) => void response.writeHead(200).end(Buffer.alloc(bytes)));
      return (await client.request('GET', '/c/b', {}, none)).body.byteLength;
    };
    expect(await of(65_536)).toBe(65_536);
    await expect(of(65_537)).rejects.toThrow('the blob is larger than 65536 bytes');
  });

  test('that does not come is an error', async () => {
    const { client } = await serving((response) => void response.destroy());
    await expect(client.request('GET', '/c/b', {}, none)).rejects.toThrow();
  });
});

test.each([
  ['BlobEndpoint=https://a.example', 'has no BlobEndpoint and SharedAccessSignature'],
  ['SharedAccessSignature=sv=1', 'has no BlobEndpoint and SharedAccessSignature'],
  ['AccountName=a;AccountKey=k', 'has no BlobEndpoint and SharedAccessSignature'],
  ['SharedAccessSignature=sv=1;BlobEndpoint=nowhere', 'a BlobEndpoint that is no URL'],
])('a connection string that lacks something is refused: %s', (connectionString, why) => {
  expect(() => createBlobClient({ kind: 'connectionString', connectionString })).toThrow(why);
});

test.each([
  'BlobEndpoint=https://a.example;SharedAccessSignature=sv=1&sig=b',
  'sharedaccesssignature = ?sv=1&sig=b ; BLOBENDPOINT = https://a.example',
])('a connection string is read in whatever spelling: %s', (connectionString) => {
  expect(() => clients.push(createBlobClient({ kind: 'connectionString', connectionString }))).not.toThrow();
});

test('an endpoint that ends in two slashes sends the signature to no other host', async () => {
  const connectionString = 'BlobEndpoint=http://127.0.0.1:1//;SharedAccessSignature=sv=1&sig=s';
  const client = createBlobClient({ kind: 'connectionString', connectionString });
  // The path's first part becomes the host: nothing listens there.
  const error = await client.request('GET', '/127.0.0.2:2/b', {}, new Uint8Array()).catch((one: unknown) => one);
  client.close();
  expect(error).toMatchObject({ address: '127.0.0.1' });
});

test('a plus sign of a signature is sent escaped', async () => {
  const { client, asked } = await serving(undefined, (endpoint) => ({
    kind: 'connectionString',
    connectionString: `BlobEndpoint=${endpoint};SharedAccessSignature=sig=a+b=`,
  }));
  await client.request('GET', '/c/b', {}, none);
  expect(asked[0]?.url).toBe('/c/b?sig=a%2Bb=');
});
