import { tooOld } from './what-to-install.js';

// npm names the machine's Node; what runs this may be the newer one that is a dependency.
const found = /\bnode\/v(\d+\.\d+\.\d+)/.exec(process.env.npm_config_user_agent ?? '');
const sentence = tooOld(found?.[1] ?? process.versions.node);
if (sentence !== null) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
