// Loaded into a process of the service by NODE_OPTIONS: a signal makes it throw where nobody catches.

process.on('SIGUSR2', () => {
  throw new Error('a test threw this')
})

process.on('SIGHUP', () => {
  void Promise.reject(new Error('a test rejected this'))
})
