// npm run faults: writes docs/faults.md anew.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseOptions } from '../support/command-line.ts'
import { ROOT, readTree } from '../tidy/tree.ts'
import { findGaps, findNamedTests, renderFaults } from './render.ts'

const HELP = `npm run faults

Writes docs/faults.md anew: what can go wrong, and the tests that show what happens then.
`

parseOptions(HELP, {})
const tests = findNamedTests(readTree())
writeFileSync(join(ROOT, 'docs', 'faults.md'), renderFaults(tests))
for (const gap of findGaps(tests)) console.error(gap)
