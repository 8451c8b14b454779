// npm run docs: writes the generated files of the SDK from openapi.json, which was written before.

import { readFileSync, writeFileSync } from 'node:fs'
import { renderSdk } from './render.ts'

const ROOT = new URL('../../../', import.meta.url)

const document = JSON.parse(readFileSync(new URL('openapi.json', ROOT), 'utf8'))
for (const [path, text] of Object.entries(renderSdk(document))) writeFileSync(new URL(path, ROOT), text)
