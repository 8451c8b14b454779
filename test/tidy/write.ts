// npm run docs: writes the parts of hand-written pages that follow from tables.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './tree.ts'
import { renderWrittenParts } from './written-parts.ts'

for (const [path, text] of Object.entries(renderWrittenParts())) writeFileSync(join(ROOT, path), text)
