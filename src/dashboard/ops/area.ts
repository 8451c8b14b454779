import type { Area } from '../frame/area.ts'

/** The area of operators. */
export const OPS: Area = {
  path: '/ops',
  kind: 'operator',
  cookiePrefix: 'cowry_ops',
  menu: [
    { path: '/ops', text: 'opsStateTitle', needs: ['jobs.get'], key: 'h' },
    { path: '/ops/merchants', text: 'opsMerchants', needs: ['merchants.list'], key: 'm' },
    { path: '/ops/gateways', text: 'gatewaysTitle', needs: ['gateways.list'], key: 'g' },
    { path: '/ops/cases', text: 'menuCases', needs: ['cases.list'], key: 'c' },
    { path: '/ops/reconciliations', text: 'opsFilesTitle', needs: ['reconciliations.list'], key: 'r' },
    { path: '/ops/people', text: 'opsPeople', needs: ['users.list'], key: 'p' },
    { path: '/ops/audit', text: 'opsAuditTitle', needs: ['audit.list'], key: 'a' },
    { path: '/ops/doctor', text: 'opsDoctorTitle', needs: ['invariants.check'], key: 'd' },
    { path: '/ops/logs', text: 'opsLogsTitle', needs: ['logs.get'], key: 'l' },
  ],
}
