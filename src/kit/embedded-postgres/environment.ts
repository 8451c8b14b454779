import { existsSync } from 'node:fs'
import { join } from 'node:path'

// A fixed environment, because the server must not depend on ours, and only src/config.ts may read it.
export function makeEnvironment(binaries: string): Record<string, string> {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const environment = { PATH: path, LC_ALL: 'C', TZ: 'UTC' }
  // The programs locate their libraries relative to their own path, which Linux provides through /proc.
  const hasNoProc = process.platform === 'linux' && !existsSync('/proc/self/exe')
  return hasNoProc ? { ...environment, LD_LIBRARY_PATH: join(binaries, 'lib') } : environment
}
