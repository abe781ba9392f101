import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';

/** Azurite's published development account. It guards nothing. */
const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** Longer than any run. */
const VALID_MS = 365 * 24 * 3_600_000;

/** A connection string of Azurite's blob service at `url`, with a shared access signature that allows everything. */
export function storageConnection(url: string): string {
  const allowed = {
    services: 'b',
    resourceTypes: 'sco',
    permissions: AccountSASPermissions.parse('rwdlacup'),
    protocol: SASProtocol.HttpsAndHttp,
    expiresOn: new Date(Date.now() + VALID_MS),
  };
  const signature = generateAccountSASQueryParameters(allowed, new StorageSharedKeyCredential(ACCOUNT, KEY));
  return `BlobEndpoint=${url}/${ACCOUNT};SharedAccessSignature=${signature.toString()}`;
}
