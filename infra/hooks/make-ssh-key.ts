import { generateKeyPairSync } from 'node:crypto';

/** Azure takes RSA from 2048 bits on; nobody ever logs in with this one, and 3072 are made in a second. */
const MODULUS_BITS = 3072;

const FORM = /^ssh-(rsa|ed25519) [A-Za-z0-9+/=]+( .*)?$/;

/** Whether a text is a public SSH key as a file `….pub` has it. The app asks the same of its setting. */
export function isPublicKey(text: string): boolean {
  return FORM.test(text);
}

/**
 * The public half of a new SSH key pair, in one line. Azure makes no Linux VM without a key or a password, and a
 * cluster that was made without a key has none to give. The private half is forgotten here: nobody can log in to such
 * nodes.
 */
export function makePublicKey(): string {
  const { n = '', e = '' } = generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS }).publicKey.export({
    format: 'jwk',
  });
  const fields = [Buffer.from('ssh-rsa'), unsigned(e), unsigned(n)];
  return `ssh-rsa ${Buffer.concat(fields.flatMap((field) => [lengthOf(field), field])).toString('base64')}`;
}

/** A whole number as SSH writes it (RFC 4251): a first bit that is set would make it negative. */
function unsigned(number: string): Buffer {
  const bytes = Buffer.from(number, 'base64url');
  return (bytes[0] ?? 0) >= 128 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

function lengthOf(field: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(field.length);
  return length;
}
