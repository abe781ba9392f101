import { registerHooks } from 'node:module';
import zlib from 'node:zlib';

/** For `--import`: `node:zlib` has what it had before Node.js 22.15, which brought zstd. */
const names = Object.keys(zlib)
  .filter((name) => !/zstd/i.test(name))
  .join(', ');
const source = `const { ${names} } = process.getBuiltinModule('node:zlib'); export { ${names} }; export default { ${names} };`;
const url = `data:text/javascript,${encodeURIComponent(source)}`;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:zlib' ? { url, shortCircuit: true } : next(specifier, context),
});
