const datePart = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
const hostLabel = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

/**
 * Formats that the API server checks. Source: the supported formats of structural schemas, 1.36; others are ignored.
 */
const forms: Readonly<Record<string, RegExp>> = {
  'date-time': new RegExp(
    `^${datePart}[Tt ]([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$`,
  ),
  date: new RegExp(`^${datePart}$`),
  duration: /^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$|^0$/,
  uuid: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
  hostname: new RegExp(`^${hostLabel}(\\.${hostLabel})*$`, 'i'),
  ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$/,
  ipv6: /^[0-9a-f:.]*:[0-9a-f:.]*$/i,
  cidr: /^[0-9a-f:.]+\/\d{1,3}$/i,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^([a-z][a-z0-9+.-]*:|\/)/i,
  byte: /^[A-Za-z0-9+/]*={0,2}$/,
  mac: /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i,
};

/** True where `value` is not of the format; formats that the API server does not know accept everything. */
export function formatProblem(format: string, value: string): boolean {
  const form = Object.hasOwn(forms, format) ? forms[format] : undefined;
  return form !== undefined && !form.test(value);
}
