const CONFIG = '/opt/azure/containers/aks-node-controller-config.json';
const LAUNCHER = '/opt/azure/containers/aks-node-controller-launcher.sh';
/** Loads into memory what the launcher will need; some images have it. */
const PRELOAD = '/opt/azure/containers/provision_preload.sh';
const LOG = '/var/log/azure/aks-node-controller.log';
const BOUNDARY = 'nodewright-custom-data';

/**
 * `osProfile.customData`: cloud-init's multipart document with one boothook, which writes the node's configuration for
 * its owner alone and starts AKS's node controller with it; base64. The token in it is the only secret. The file is
 * made with its rights by `install`, so that no umask is left behind for what the hook starts.
 */
export function customData(config: object): string {
  const payload = Buffer.from(JSON.stringify(config)).toString('base64');
  const script = [
    '#!/bin/bash',
    'set -eu',
    'mkdir -p /opt/azure/containers /var/log/azure',
    `install -m 0600 /dev/null ${CONFIG}`,
    `base64 -d >${CONFIG} <<'CONFIG'`,
    ...lines(payload),
    'CONFIG',
    `[ ! -x ${PRELOAD} ] || nohup ${PRELOAD} >/dev/null 2>&1 &`,
    `if [ -x ${LAUNCHER} ]; then`,
    `  nohup ${LAUNCHER} >${LOG} 2>&1 &`,
    'else',
    '  systemctl start --no-block aks-node-controller.service',
    'fi',
  ].join('\n');
  const mime = [
    'MIME-Version: 1.0',
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    '',
    `--${BOUNDARY}`,
    'MIME-Version: 1.0',
    'Content-Type: text/cloud-boothook; charset="utf-8"',
    'Content-Transfer-Encoding: 7bit',
    '',
    script,
    '',
    `--${BOUNDARY}--`,
    '',
  ].join('\n');
  return Buffer.from(mime).toString('base64');
}

/** The configuration that custom data carries: the inverse of `customData`. Null where it carries none. */
export function configOf(data: string): object | null {
  const text = Buffer.from(data, 'base64').toString('utf8');
  const [, payload] = /<<'CONFIG'\n([A-Za-z0-9+/=\n]+)\nCONFIG\n/.exec(text) ?? [];
  return payload === undefined ? null : (JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as object);
}

/** Lines of mail have an end; so has this document's only long one. */
const LINE = 76;

function lines(payload: string): ReadonlyArray<string> {
  return payload.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
}
