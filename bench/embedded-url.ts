// The address of the embedded PostgreSQL of a running service, from its data folder.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export async function embeddedUrl(dataDir: string): Promise<string> {
  const cluster = join(dataDir, 'postgres', 'cluster')
  // PostgreSQL writes its port into the fourth line of this file.
  const [, , , port] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')
  const password = (await readFile(join(cluster, 'cowry-password'), 'utf8')).trim()
  return `postgres://cowry:${password}@127.0.0.1:${port}/cowry`
}
