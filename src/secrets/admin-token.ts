// The operators' token: from the settings, or generated once into the data folder, where the command line finds it.

import { join } from 'node:path'
import { base62 } from '../core/ids.ts'
import { constantTimeEquals, hmacSha256 } from '../kit/crypto.ts'
import { ensurePrivateFile, readPrivateFile } from '../kit/private-files.ts'
import type { Random } from '../kit/random.ts'

const TOKEN_BYTES = 32
const TOKEN_LENGTH = 43

export async function ensureAdminToken(
  config: { adminToken: string | null; dataDir: string },
  random: Random,
): Promise<string> {
  if (config.adminToken) return config.adminToken
  const path = adminTokenPath(config.dataDir)
  const token = await ensurePrivateFile(path, base62(random.bytes(TOKEN_BYTES), TOKEN_LENGTH), random)
  if (token.length < TOKEN_LENGTH)
    throw new Error(
      `${path} does not hold an operator token. Delete it, and the next start writes a new one.`,
    )
  return token
}

/** The token of the service that runs on this data folder, if there is one. */
export function readAdminToken(dataDir: string): Promise<string | undefined> {
  return readPrivateFile(adminTokenPath(dataDir))
}

/** Both are hashed first, so that the time tells neither where they differ nor how long the right one is. */
export function isAdminToken(expected: string, presented: string | undefined): boolean {
  return constantTimeEquals(hmacSha256(expected, presented ?? ''), hmacSha256(expected, expected))
}

function adminTokenPath(dataDir: string): string {
  return join(dataDir, 'admin-token')
}
