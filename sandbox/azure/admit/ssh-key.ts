/** Learn "SSH keys for Linux VMs in Azure": RSA keys of this many bits and more, and ED25519. */
const RSA_BITS = 2_048;
const ED25519_BYTES = 32;

/** Whether a text is a public key that Azure takes, in the one line of `~/.ssh/id_rsa.pub`. */
export function isSshPublicKey(text: string): boolean {
  const [type = '', encoded = ''] = text.trim().split(/\s+/);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return false;
  const [inside, ...numbers] = fieldsOf(Buffer.from(encoded, 'base64')) ?? [];
  if (inside?.toString('latin1') !== type) return false;
  if (type === 'ssh-ed25519') return numbers.length === 1 && numbers[0]?.length === ED25519_BYTES;
  const [exponent, modulus] = numbers;
  if (type !== 'ssh-rsa' || numbers.length !== 2 || exponent === undefined || modulus === undefined) return false;
  return exponent.length > 0 && bitsOf(modulus) >= RSA_BITS;
}

/** The fields of RFC 4253's string format, each after its length; null when they do not fill the bytes. */
function fieldsOf(bytes: Buffer): ReadonlyArray<Buffer> | null {
  const fields: Array<Buffer> = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + 4;
    if (start > bytes.length) return null;
    at = start + bytes.readUInt32BE(start - 4);
    if (at > bytes.length) return null;
    fields.push(bytes.subarray(start, at));
  }
  return fields;
}

function bitsOf(number: Buffer): number {
  const first = number.findIndex((byte) => byte !== 0);
  return first < 0 ? 0 : (number.length - first - 1) * 8 + 32 - Math.clz32(number[first] ?? 0);
}
