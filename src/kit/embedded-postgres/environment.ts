import { existsSync } from 'node:fs'
import { join } from 'node:path'

// Only src/config.ts may read the environment, and the server should not depend on it either.
export function makeEnvironment(binaries: string): Record<string, string> {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const environment = { PATH: path, LC_ALL: 'C', TZ: 'UTC' }
  // Programs find their libraries relative to their own path, which Linux provides through /proc.
  const isLost = process.platform === 'linux' && !existsSync('/proc/self/exe')
  return isLost ? { ...environment, LD_LIBRARY_PATH: join(binaries, 'lib') } : environment
}
