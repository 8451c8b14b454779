// The operators' token: from the settings, or generated once in the data folder, where the command line reads it.

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

/** Undefined when no service has run on this data folder. */
export function readAdminToken(dataDir: string): Promise<string | undefined> {
  return readPrivateFile(adminTokenPath(dataDir))
}

/** Both values are hashed first, so the comparison time reveals neither the first difference nor the length. */
export function isAdminToken(expected: string, presented: string | undefined): boolean {
  return constantTimeEquals(hmacSha256(expected, presented ?? ''), hmacSha256(expected, expected))
}

function adminTokenPath(dataDir: string): string {
  return join(dataDir, 'admin-token')
}
