/** `npm install` works with this Node; older ones have a npm that does not know this lock file, or that nobody tries here. */
const OLDEST_MAJOR = 20;
const DOCUMENTED = 'Node.js 22 or newer';

/**
 * One sentence that says what to install before anything here runs; null where nothing is missing.
 * @param {{version: string, runsTypeScript: boolean, isInstalled: boolean}} machine The Node that runs this, and whether `npm install` has been run.
 * @returns {string | null}
 */
export function whatToInstall({ version, runsTypeScript, isInstalled }) {
  const old = tooOld(version);
  if (!isInstalled) return old ?? 'Run npm install first.';
  return runsTypeScript ? null : (old ?? 'Run npm install first: it brings the Node that runs this.');
}

/**
 * One sentence where the Node with that version is too old to install this; null where it is not.
 * @param {string} version Such as `18.20.4`.
 * @returns {string | null}
 */
export function tooOld(version) {
  if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return null;
  return `Nodewright needs ${DOCUMENTED}, and this is ${version}: install it from https://nodejs.org, then run npm install.`;
}
