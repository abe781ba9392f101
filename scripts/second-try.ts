import { readFileSync } from 'node:fs';
import { type Results, filesForSecondTry } from './test-results.ts';

/**
 * `node scripts/second-try.ts RESULTS`: prints the files that a suite tries once more, one a line. Exit code 1 where
 * there are none.
 */
const [path = ''] = process.argv.slice(2);
const files = filesForSecondTry(JSON.parse(readFileSync(path, 'utf8')) as Results);
for (const file of files) console.log(file);
process.exitCode = files.length > 0 ? 0 : 1;
