// npm run reference: writes the script of the API reference again, after an upgrade of @scalar/fastify-api-reference.

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { gzipSync, constants as zlib } from 'node:zlib'
import { BUNDLE_FILE, readPackageBundle } from './bundle.ts'

await mkdir(dirname(BUNDLE_FILE), { recursive: true })
await writeFile(BUNDLE_FILE, gzipSync(await readPackageBundle(), { level: zlib.Z_BEST_COMPRESSION }))
