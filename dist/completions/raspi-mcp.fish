# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_raspi_mcp_global_optspecs
    string join \n config= set= h/help V/version
end

function __fish_raspi_mcp_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_raspi_mcp_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_raspi_mcp_using_subcommand
    set -l cmd (__fish_raspi_mcp_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -s V -l version -d 'Print version'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "serve" -d 'Serve MCP to the client that started this process (--stdio), or over HTTP and a Unix socket'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "agent" -d 'Run the privileged agent, which performs the server\'s operations on the machine'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "call" -d 'Call one tool of a running server'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "bridge" -d 'Connect a client on standard input and output to a server on the network'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "pins" -d 'Draw the 40-pin header with the current function of each pin'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "tools" -d 'List the tools and their configuration'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "schema" -d 'Print, write or check the JSON Schema files of the tools'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "token" -d 'Create, list and revoke bearer tokens'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "tls" -d 'Create a TLS certificate for this server, or show the current one'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "bundle" -d 'Build, sign and verify update bundles'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "channel" -d 'Publish releases in an update channel, as files for any web space'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "fleet" -d 'Query many devices: version, slots, last update, health'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "claim" -d 'Claim a machine that has no owner yet, with the code that it shows'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "allow" -d 'Enable a tool for given callers and resources, without a restart. Needs root on an installed system'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "revoke" -d 'Revoke what `raspi-mcp allow` granted'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "agents" -d 'List the agents of the configuration, and accept or revoke their tools. Needs root on an installed system'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "routeros" -d 'Add, list, test and remove the MikroTik routers that this machine looks after'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "approve" -d 'Approve or deny a caller\'s pending request'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "approval-page" -d 'Serve a page on which approval requests are answered with a phone'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "approver" -d 'Manage the people who may answer approval requests with a key of their own'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "halt" -d 'Halt the machine: refuse every change until it is lifted here. Needs root, or an approver'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "audit" -d 'Verify or show the audit log of all calls'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "backup" -d 'Back up this machine, or one in the network, into one file that only a passphrase opens'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "notifications" -d 'Test the webhooks to which news of approvals and of trouble is sent'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "slot" -d 'Show the two slots of this machine, install a release, roll back, or commit a trial'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "prepare" -d 'Restore the identity of an appliance at boot, and apply the owner\'s raspi-mcp.toml'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "grow" -d 'Extend the data partition to the end of the card, on images with two slots'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "doctor" -d 'Report what is wrong or missing on this machine, and how to fix it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l http -d 'Listen for HTTP here instead of 127.0.0.1:8765; port 0 selects a free port' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l role -d 'The role of callers on this machine: read_only (default), ops_rw or admin. For use on your own PC' -r -f -a "read_only\t''
ops_rw\t''
admin\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l stdio -d 'Serve only the client that started this process, over standard input and output'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -s a -l arg -d 'One argument. The value is read as JSON or, if that fails, as a string. May be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l args -d 'All arguments as one JSON object' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l url -d 'The server\'s address, e.g. https://pi.local:8765; default: the Unix socket of the server on this machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l pin -d 'The fingerprint of the server\'s certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l socket -d 'Use this Unix socket instead' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l token-file -d 'A file that contains the bearer token; default: the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l json -d 'Print the result as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l url -d 'The server\'s address, e.g. https://pi.local:8765/mcp' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l pin -d 'The fingerprint of the server\'s certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l token-file -d 'A file that contains the bearer token; default: the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l url -d 'The server\'s address, e.g. https://pi.local:8765; default: the Unix socket of the server on this machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l pin -d 'The fingerprint of the server\'s certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l socket -d 'Use this Unix socket instead' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l token-file -d 'A file that contains the bearer token; default: the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l svg -d 'Write an SVG picture to standard output'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l json -d 'Print all contacts as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l namespace -d 'List the tools of this namespace only, e.g. gpio' -r -f -a "system\t''
metrics\t''
network\t''
service\t''
process\t''
camera\t''
manage\t''
logs\t''
files\t''
exec\t''
gpio\t''
i2c\t''
spi\t''
onewire\t''
serial\t''
sensors\t''
vector\t''
agents\t''
tools\t''
routeros\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l policy -d 'Show the actions, role, tier, policy and time limit of every tool, as the running server has them; if none runs, as configured'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l json -d 'Print the full descriptors as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l write -d 'Write DIR/<namespace>/<operation>.json for every tool, and DIR/compat/<server>/<name>.json for names of other servers' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l check -d 'Report which files in DIR differ from this build\'s schemas' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "make" -d 'Create a token and print it once; a running server accepts it immediately'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "new" -d 'Create a token and print it once, with the configuration lines that make a server accept it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "list" -d 'List the configured tokens by name; the tokens themselves are not stored'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "revoke" -d 'Remove a token from the configuration; a running server closes its connections immediately'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l name -d 'The token\'s name, e.g. of the device that will use it: laptop' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l role -d 'The token\'s role: read_only, ops_rw or admin' -r -f -a "read_only\t''
ops_rw\t''
admin\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l owner -d 'The token\'s owner. Credentials of one owner share pin leases and limits' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l expires -d 'When it expires, e.g. 2027-01-01T00:00:00Z; default: never' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l router -d 'A router that the token is good for; may be repeated; default: all routers' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l name -d 'The token\'s name, e.g. of the device that will use it: laptop' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l role -d 'The token\'s role: read_only, ops_rw or admin' -r -f -a "read_only\t''
ops_rw\t''
admin\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l owner -d 'The token\'s owner. Credentials of one owner share pin leases and limits' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l expires -d 'When it expires, e.g. 2027-01-01T00:00:00Z; default: never' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l router -d 'A router that the token is good for; may be repeated; default: all routers' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l json -d 'Print the list as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -f -a "init" -d 'Create a key and a self-signed certificate at tls.key and tls.certificate, and print the fingerprint for clients to pin'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -f -a "show" -d 'Print the fingerprint of the current certificate'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l name -d 'An additional name or address by which clients reach this machine; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l replace -d 'Replace an existing key and certificate; clients that pinned the old fingerprint need the new one'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "build" -d 'Build a bundle from a root image and a boot image'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "sign" -d 'Add a signature to a bundle'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "verify" -d 'Verify a bundle: signatures, hashes, every block'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "inspect" -d 'Show the contents of a bundle\'s head, without verifying it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "delta-size" -d 'Print how much a device with the old version would download'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "config-keys" -d 'Print the settings that this program knows, one per line, for `build --config-keys`'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "keygen" -d 'Generate a key pair'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "trust" -d 'Create, sign, rotate and show roots of trust'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l root -d 'Image of the root file system. Do not compress its contents, so that the next version can reuse its blocks' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l boot -d 'Image of the boot file system (FAT)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l product -d 'The product identifier; devices accept only their own product' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l version -d 'Semantic version, e.g. 1.4.0' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l counter -d 'The release counter; it must increase with every release of the product' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l channel -d 'The update channel' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l layout -d 'The partition layout that the images were made for' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l hardware -d 'Device-tree compatible of a supported board, e.g. raspberrypi,4-model-b; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l created -d 'When it was made; default: SOURCE_DATE_EPOCH. The clock is never used, so that the same input produces the same bytes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l expires -d 'The time from which devices no longer install it, e.g. 2027-01-01T00:00:00Z' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l min-eeprom -d 'The build time of the oldest bootloader (EEPROM) that can boot it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l revoke-below -d 'After this release is committed, never boot an image with a smaller counter again' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l config-keys -d 'A list of the settings that the program in the root image knows, as printed by its own `raspi-mcp bundle config-keys`. A device uses it to report which of its settings the release would not understand' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l changes -d 'What the release drops, renames and adds, as the JSON of the manifest\'s `changes` (docs/bundle-format.md). Devices with version 0.2.0 or earlier do not accept it' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l tree -d 'The folder of the root file system that is in the root image, to compare its services with those of the previous release. An image can be mounted: `mount -o ro,loop root.img FOLDER`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l previous-tree -d 'The folder of the previous release\'s root file system. Services that started with the machine there, do not in `--tree` and are not named by `--changes` are warned of' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l previous-bundle -d 'The previous release\'s bundle, or its head. Settings that it knows, that `--config-keys` lacks and that are not named by `--changes` are warned of' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l block-size -d 'Block size in bytes: a power of two from 4096 to 1048576' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l level -d 'zstd compression level: 1 to 19' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l out -d 'The bundle to write; the file must not exist' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l simulated-boot -d 'Use a boot image that only the simulated machine can boot'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l key -d 'The secret key' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l from -d 'Copy the signatures from this bundle or head, which must have the same manifest' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l trust -d 'The trusted root of trust, then its successors in order; may be repeated' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l now -d 'Check expiry and time of creation at this time; default: now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l head -d 'Write only the head to this file, which is enough for signing' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l json -d 'Print only the exact bytes of the manifest, which is JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l block-size -d 'For images: block size in bytes, a power of two from 4096 to 1048576; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l level -d 'For images: zstd compression level, 1 to 19' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "init" -d 'Create the first root of trust of a product'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "rotate" -d 'Create the successor of a root of trust; keys and thresholds that are not given are kept'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "sign" -d 'Add a signature to a root of trust; a successor needs enough signatures of the old keys and of the new keys'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "show" -d 'Verify a chain of roots of trust in order, as a device does, and show the last one'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "publish" -d 'Publish a release, or renew the index before it expires'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "rollout" -d 'Set the share of devices that get a release'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "pause" -d 'Pause the channel: devices install nothing until it is resumed'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "resume" -d 'End a pause'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "revoke" -d 'Revoke a release: devices that do not have it never install it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "show" -d 'Show the index of a channel'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l key -d 'A secret key of the root of trust\'s channel role; give as many as the threshold requires' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l trust -d 'The root of trust that devices have, and its successors; an index that devices would not accept is refused' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l created -d 'The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l days -d 'Days until the index expires; renew it before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l bundle -d 'The release\'s bundle, which is copied into the folder. Without it, the index is renewed' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l url -d 'Where the bundle is served if not from the folder: an https address, or a path below the channel\'s base' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l percent -d 'The percentage of devices that get it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l ring -d 'Only for devices in this ring; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l min-counter -d 'The lowest counter of a running release from which it can be installed' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l notes -d 'A plain text file with release notes' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l notes-url -d 'The address of more release notes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l product -d 'The product identifier, for the first index of a channel without a release' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l root -d 'A root of trust to publish for devices that have its predecessor; may be repeated' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l key -d 'A secret key of the root of trust\'s channel role; give as many as the threshold requires' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l trust -d 'The root of trust that devices have, and its successors; an index that devices would not accept is refused' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l created -d 'The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l days -d 'Days until the index expires; renew it before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l key -d 'A secret key of the root of trust\'s channel role; give as many as the threshold requires' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l trust -d 'The root of trust that devices have, and its successors; an index that devices would not accept is refused' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l created -d 'The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l days -d 'Days until the index expires; renew it before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l key -d 'A secret key of the root of trust\'s channel role; give as many as the threshold requires' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l trust -d 'The root of trust that devices have, and its successors; an index that devices would not accept is refused' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l created -d 'The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l days -d 'Days until the index expires; renew it before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l key -d 'A secret key of the root of trust\'s channel role; give as many as the threshold requires' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l trust -d 'The root of trust that devices have, and its successors; an index that devices would not accept is refused' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l created -d 'The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l days -d 'Days until the index expires; renew it before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l channel -d 'The channel\'s name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l trust -d 'The root of trust to verify with, and its successors; without it, nothing is verified' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "status" -d 'Show all devices: version, slot, result of the last update, health, problems'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "enroll" -d 'At a device: make its key, and the request to become a member of a fleet'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "join" -d 'At a device: take the answer of the fleet\'s owner; it counts from the next start on'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "init" -d 'Make the folder of a new fleet: keys, certificates, and the broker\'s configuration'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "sign" -d 'Sign the request of a device: it becomes a member'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "renew" -d 'Sign a new certificate for a device, for the key that it has'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "revoke" -d 'Take a device out of the fleet'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "doctor" -d 'Check the connection to the broker, and make or correct its streams'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "watch" -d 'Follow the fleet: what changes, which devices become silent, what is refused. Until interrupted'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "ls" -d 'List the names of devices, one on each line'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "log" -d 'Show what devices told once: results of updates, asks that waited for a person, heads of the audit'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "halt" -d 'Halt devices: they refuse every change until it is lifted at each of them'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "call" -d 'Call one tool of one device, through the broker'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "connect" -d 'Open a local port that leads to a device\'s own listener, through the broker'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "serve" -d 'Serve the whole fleet to an assistant: one MCP endpoint with tools for all devices'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status enroll join init sign renew revoke doctor watch ls log halt call connect serve rollout" -f -a "rollout" -d 'Roll a release out in stages, by a signed plan that stops by itself'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l inventory -d 'The list of devices: a TOML file of tables [[devices]] with name, url, pin and token_file (docs/fleet.md)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l dir -d 'The folder of a fleet with a broker, as `raspi-mcp fleet init` made it' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l version -d 'Only devices that run this version; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l health -d 'Only devices with this health: good, wrong, unknown or silent; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l tag -d 'Only devices with this tag, in the registry or in their own configuration; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l silent-after -d 'A device is silent if its last status is older than this; devices report every 10 to 20 minutes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l group-by -d 'Count devices instead: by version, health, tag, or update' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l silent -d 'Only silent devices: the same as --health silent'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l json -d 'Print everything as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l name -d 'The name that the device shall have in the fleet: 1 to 63 of a-z, 0-9 and "-"' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l out -d 'Where to write the request, for `raspi-mcp fleet sign`; default: standard output' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from enroll" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from join" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -l name -d 'The name of the fleet: 1 to 63 of a-z, 0-9 and "-"' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -l server -d 'An address of the broker, like tls://broker.example.org:4222; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -l host -d 'Another name or address of the broker, for its certificate; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from sign" -l out -d 'Where to write the answer, for `raspi-mcp fleet join`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from sign" -l device -d 'The ID that the device has: another one is refused. Its console shows it: raspi-mcp approver list' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from sign" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from sign" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from sign" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from renew" -l dir -d 'The folder of the fleet, with ca.key' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from renew" -l out -d 'Where to write the answer, for `raspi-mcp fleet join`; default: standard output' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from renew" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from renew" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l version -d 'Only devices that run this version; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l health -d 'Only devices with this health: good, wrong, unknown or silent; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l tag -d 'Only devices with this tag, in the registry or in their own configuration; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l silent-after -d 'A device is silent if its last status is older than this; devices report every 10 to 20 minutes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l silent -d 'Only silent devices: the same as --health silent'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -l json -d 'Print one JSON object for each change'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l version -d 'Only devices that run this version; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l health -d 'Only devices with this health: good, wrong, unknown or silent; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l tag -d 'Only devices with this tag, in the registry or in their own configuration; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l silent-after -d 'A device is silent if its last status is older than this; devices report every 10 to 20 minutes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l silent -d 'Only silent devices: the same as --health silent'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -l json -d 'Print a JSON array of names'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -l kind -d 'Only messages of this kind: update, audit or ask; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -l json -d 'Print everything as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l dir -d 'The folder of the fleet, with fleet.key' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l reason -d 'Why: shown at each device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l wait -d 'Seconds to wait for the devices to confirm it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l all -d 'All devices of the fleet'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -l json -d 'Print the outcome as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from halt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -s a -l arg -d 'One argument. The value is read as JSON or, if that fails, as a string. May be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l args -d 'All arguments as one JSON object' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l token-file -d 'A file with a token of this device' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -l json -d 'Print the result as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from connect" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from connect" -l listen -d 'The port to open, on this computer only; port 0 selects a free one' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from connect" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from connect" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from connect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l dir -d 'The folder of the fleet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l silent-after -d 'A device is silent if its last status is older than this; devices report every 10 to 20 minutes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l http -d 'Listen for HTTP here instead of 127.0.0.1:8765; port 0 selects a free port' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l role -d 'The role of callers on this machine: read_only (default), ops_rw or admin. For use on your own PC' -r -f -a "read_only\t''
ops_rw\t''
admin\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -l stdio -d 'Serve only the client that started this process, over standard input and output'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "sign" -d 'Sign the index of every stage and its pause, with the channel\'s key'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "start" -d 'Begin the rollout, or follow the controller that acts; ends when the rollout is over'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "status" -d 'Show the state of a rollout, the last decision, and the devices that failed'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "pause" -d 'Pause the rollout and the channel: devices install nothing until it is resumed'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "resume" -d 'Resume a paused rollout; possible once in each stage'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from rollout" -f -a "abort" -d 'End the rollout; the channel stays paused'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l fingerprint -d 'The fingerprint of its certificate, as the machine shows it (sha256:...); the code is sent to no other machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l code -d 'The code that the machine shows; if omitted, the command asks for it. Other users of this computer can see the command line' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l device -d 'The machine\'s device ID, as it shows it; the machine must prove it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l approver -d 'The key that approves for you from now on: the file of `raspi-mcp approver key`, or the public key that it printed. All other approvers are removed' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l approver-name -d 'The approver\'s name, as the audit log will show it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l fleet -d 'The folder of a fleet: the machine becomes its member. The orders are signed with the key of --approver, which has to be its file' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l name -d 'The name that the machine shall have in the fleet; default: its host name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l restore -d 'Restore this backup on the machine, which then restarts. With an identity in it, its tokens count; else a token is made' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l passphrase-file -d 'A file with the passphrase of the backup, or - for standard input; without it, you are asked' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l without -d 'A token or approver of the backup that is not to count again, as token:NAME or approver:NAME; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l out -d 'Write the token to this new file, which only you can read, instead of printing it' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l yes -d 'Let in again all other tokens and approvers of the backup, without asking'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l json -d 'Print address, fingerprint and token as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l show -d 'Show code, fingerprint, addresses and QR code until the machine has an owner. Runs on the machine itself, as root'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l pin -d 'A pin, by its Broadcom (BCM) number; may be repeated. With --url also the fingerprint of that device\'s certificate (sha256:...)' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l device -d 'An I2C device or a range of devices, like 1:0x48 or 1:0x50-0x57; may be repeated. With --url also that device\'s ID (64 digits)' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l path -d 'A folder for files.*, by its full path, including its subfolders; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l for -d 'Only for this caller, whatever its role: the name of a token or user, or the caller\'s name in the audit (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l list -d 'List all grants: for whom, by whom and when'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l ask -d 'Require a person\'s approval for every call (raspi-mcp approve)'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l pin -d 'A pin, by its Broadcom (BCM) number; may be repeated. With --url also the fingerprint of that device\'s certificate (sha256:...)' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l device -d 'An I2C device or a range of devices, like 1:0x48 or 1:0x50-0x57; may be repeated. With --url also that device\'s ID (64 digits)' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l path -d 'A folder for files.*, by its full path, including its subfolders; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l for -d 'Only for this caller, whatever its role: the name of a token or user, or the caller\'s name in the audit (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -f -a "list" -d 'List the agents and their tools'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -f -a "accept" -d 'Show what the tools of an agent say about themselves, and accept them as they are. A tool that changes is off until it is accepted again'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and not __fish_seen_subcommand_from list accept revoke" -f -a "revoke" -d 'Switch the tools of an agent off'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from list" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from list" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from accept" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from accept" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agents; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -f -a "add" -d 'Add a router: show its certificate, ask for the password, check that it answers. Needs root on an installed system'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -f -a "list" -d 'List the configured routers'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -f -a "test" -d 'Check that a router answers, and what its user may do there'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -f -a "remove" -d 'Remove a router and its password'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and not __fish_seen_subcommand_from add list test remove serve" -f -a "serve" -d 'Run the process that talks to the routers, which keeps their passwords from the server'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l address -d 'Host and port of the router\'s HTTPS (www-ssl); port 443 if it is left out' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l user -d 'The router\'s user for this machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l pin -d 'The fingerprint of the router\'s certificate (sha256:...); without it, the certificate is shown and you are asked' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l ca -d 'A PEM file of the authorities that sign the router\'s certificate, in place of a fingerprint' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l environment -d 'lab, staging or prod' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l tag -d 'A tag like site=attic; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l password-file -d 'A file with the password, or - for standard input; without it, you are asked' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l allow-advanced -d 'Let tools of the advanced tier change this router'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -l allow-professional -d 'Let approved plans be applied to this router'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from list" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from list" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from list" -l json -d 'Print the list as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from test" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from test" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from remove" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from remove" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -l socket -d 'Listen on this Unix socket; default: /run/raspi-mcp-routeros/routeros.sock' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -l folder -d 'Keep plans and snapshots in this folder; default: /var/lib/raspi-mcp-routeros' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -l agent -d 'The agent\'s socket; default: the machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand routeros; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l deny -d 'Deny the request without asking'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l list -d 'List the pending requests and exit'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l listen -d 'Listen on this address; default: approval.listen' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l folder -d 'The folder of the page\'s own certificate, which is made at the first start' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l export -d 'Write the page for many devices into this folder, for any web server, and serve nothing' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -l inherited -d 'Listen on the socket that is standard input, as systemd passes it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approval-page" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -f -a "key" -d 'Create a key for `raspi-mcp approve --key` on your own computer, and print its public half'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -f -a "add" -d 'Let a key answer approval requests. Runs on the device, as root; prints the device\'s ID'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -f -a "enroll" -d 'Enrol the first approver of an appliance over the network, with an admin token and a code that the device then shows'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -f -a "list" -d 'List the approvers and the device\'s ID'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and not __fish_seen_subcommand_from key add enroll list revoke" -f -a "revoke" -d 'Revoke an approver immediately. Runs on the device, as root, or signed from elsewhere'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from key" -l out -d 'Write the secret key to this new file, which only you can read' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from key" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from key" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l name -d 'The approver\'s name, as the audit log will show it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l key -d 'The public key: base64url of its SubjectPublicKeyInfo. With --url give --key twice: also your own secret key, a file' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l kind -d 'Where the key is kept: cli, passkey or browser' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l origin -d 'The page at which a passkey or browser key is used, e.g. https://approve.example.org' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l url -d 'The address of a device in the network; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l pin -d 'The fingerprint of its certificate (sha256:...)' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l url -d 'The device\'s address, e.g. https://pi.local:8443' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l token-file -d 'A file that contains an admin\'s bearer token; default: the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l key -d 'The file of `raspi-mcp approver key`, or the public key that it printed' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l name -d 'The approver\'s name, as the audit log will show it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l device -d 'The device\'s ID, as it shows it; the device must prove it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from enroll" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -l json -d 'Print the list as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approver; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l reason -d 'Why, in one line of at most 200 characters; everybody whose call is refused is told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l lift -d 'Lift the halt'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -l status -d 'Say whether the machine is halted, by whom and why, and change nothing'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand halt" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "verify" -d 'Verify every record against the hash chain, and the chain against the agent\'s copy of its head'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "accept-gap" -d 'Accept that records are missing, after `verify` has listed them. For root and approvers'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "show" -d 'Print the newest records'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l file -d 'Read this store instead of this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'Print the report as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l file -d 'Read this store instead of this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l yes -d 'Do not ask for confirmation'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit -d 'The number of records' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l tool -d 'Only calls of this tool' -r -f -a "system.get_basic_info\t''
system.get_health_snapshot\t''
system.get_capabilities\t''
system.get_clock\t''
system.get_network_info\t''
system.get_detailed_network_info\t''
system.list_packages\t''
system.list_devices\t''
system.set_hostname\t''
system.set_timezone\t''
system.reboot\t''
system.shutdown\t''
metrics.get_realtime_metrics\t''
metrics.start_sampling_job\t''
metrics.stop_sampling_job\t''
metrics.list_sampling_jobs\t''
metrics.get_samples\t''
metrics.query_history\t''
network.get_status\t''
network.list_connections\t''
network.scan_wifi\t''
network.ping\t''
network.activate_connection\t''
network.add_connection\t''
network.update_connection\t''
network.confirm_connection\t''
service.list_services\t''
service.get_status\t''
service.validate_unit_file\t''
service.control_service\t''
service.start\t''
service.stop\t''
service.restart\t''
service.set_enabled\t''
process.list_processes\t''
process.get_process_details\t''
process.send_signal\t''
camera.list_cameras\t''
camera.take_photo\t''
camera.capture\t''
camera.get_photo\t''
manage.get_server_status\t''
manage.get_capabilities\t''
manage.check_for_updates\t''
manage.update_server\t''
manage.get_update_status\t''
manage.preview_os_updates\t''
manage.apply_os_updates\t''
manage.rollback\t''
manage.mark_good\t''
manage.halt\t''
manage.export_settings\t''
logs.get_recent_app_logs\t''
logs.get_recent_audit_logs\t''
logs.query_journal\t''
files.read\t''
files.list\t''
files.write\t''
files.delete\t''
exec.run\t''
gpio.list_pins\t''
gpio.read_pin\t''
gpio.wait_for_edge\t''
gpio.configure_pin\t''
gpio.write_pin\t''
gpio.set_pwm\t''
gpio.release_pin\t''
i2c.list_buses\t''
i2c.scan_bus\t''
i2c.identify\t''
i2c.read\t''
i2c.write\t''
i2c.transfer\t''
spi.list_buses\t''
spi.transfer\t''
onewire.list_devices\t''
onewire.read\t''
serial.list_ports\t''
serial.open\t''
serial.read\t''
serial.write\t''
serial.close\t''
sensors.list\t''
sensors.read\t''
vector.search\t''
vector.get_page\t''
vector.get_status\t''
vector.rebuild\t''
agents.spawn\t''
agents.send_task\t''
agents.list\t''
agents.get_status\t''
agents.shutdown\t''
tools.describe\t''
tools.run\t''
tools.run_read\t''
tools.search\t''"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l principal -d 'Only calls by this caller' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l outcome -d 'Only calls with this outcome: ok, an error code, or unknown' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l file -d 'Read this store instead of this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'Print JSON, one record per line'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l out -d 'Write the backup to this new file, which only you can read' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l passphrase-file -d 'A file with the passphrase, or - for standard input; without it, you are asked' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l check -d 'Open a backup and say what is in it, without its secrets' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l url -d 'The address of a device in the network, e.g. https://pi.local:8765; default: this device' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l pin -d 'The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l key -d 'Your secret key, from `raspi-mcp approver key`' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l device -d 'The device\'s ID, as `raspi-mcp approver add` printed it at its console: others are refused' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -l identity -d 'With the keys, tokens and fleet of the machine: restored on a new card, it is the same device for its clients. Needs root, or --url with the key of an approver'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand backup" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and not __fish_seen_subcommand_from test" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and not __fish_seen_subcommand_from test" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and not __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and not __fish_seen_subcommand_from test" -f -a "test" -d 'Send a test message to the configured webhooks, once, and print each answer'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and __fish_seen_subcommand_from test" -l to -d 'Only to the webhook with this name' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and __fish_seen_subcommand_from test" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and __fish_seen_subcommand_from test" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand notifications; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -f -a "status" -d 'Show both slots, the last update, and a running trial'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -f -a "install" -d 'Write a bundle into the inactive slot, and try it at the next restart'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -f -a "rollback" -d 'Go back to the other slot: end a trial, disarm an update, or leave a version that misbehaves'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -f -a "mark-good" -d 'Commit the system on trial, if all checks find it healthy'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good unblock" -f -a "unblock" -d 'Let a release that is blocked here be installed again'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l json -d 'Print everything as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l reboot -d 'Restart into it immediately'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -s y -l yes -d 'Do not ask for confirmation'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l dry-run -d 'Show what would happen, and do nothing'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -s y -l yes -d 'Do not ask for confirmation'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from unblock" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from unblock" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from unblock" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l layout -d 'Use this card layout instead of the image\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l dry-run -d 'Show what would be written, and write nothing'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l bundle -d 'With --update: also check whether this release would understand the configuration. FILE is a bundle or its head; it is not verified' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l config -d 'Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l set -d 'Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l all -d 'Show every setting and its source, not only those that differ from the default'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l update -d 'Check only whether an update could succeed now: slots, space, keys, power, wear, boot loader, time'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l json -d 'Print everything as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -f -a "system.get_basic_info system.get_health_snapshot system.get_capabilities system.get_clock system.get_network_info system.get_detailed_network_info system.list_packages system.list_devices system.set_hostname system.set_timezone system.reboot system.shutdown metrics.get_realtime_metrics metrics.start_sampling_job metrics.stop_sampling_job metrics.list_sampling_jobs metrics.get_samples metrics.query_history network.get_status network.list_connections network.scan_wifi network.ping network.activate_connection network.add_connection network.update_connection network.confirm_connection service.list_services service.get_status service.validate_unit_file service.control_service service.start service.stop service.restart service.set_enabled process.list_processes process.get_process_details process.send_signal camera.list_cameras camera.take_photo camera.capture camera.get_photo manage.get_server_status manage.get_capabilities manage.check_for_updates manage.update_server manage.get_update_status manage.preview_os_updates manage.apply_os_updates manage.rollback manage.mark_good manage.halt manage.export_settings logs.get_recent_app_logs logs.get_recent_audit_logs logs.query_journal files.read files.list files.write files.delete exec.run gpio.list_pins gpio.read_pin gpio.wait_for_edge gpio.configure_pin gpio.write_pin gpio.set_pwm gpio.release_pin i2c.list_buses i2c.scan_bus i2c.identify i2c.read i2c.write i2c.transfer spi.list_buses spi.transfer onewire.list_devices onewire.read serial.list_ports serial.open serial.read serial.write serial.close sensors.list sensors.read vector.search vector.get_page vector.get_status vector.rebuild agents.spawn agents.send_task agents.list agents.get_status agents.shutdown tools.describe tools.run tools.run_read tools.search"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -f -a "system.get_basic_info system.get_health_snapshot system.get_capabilities system.get_clock system.get_network_info system.get_detailed_network_info system.list_packages system.list_devices system.set_hostname system.set_timezone system.reboot system.shutdown metrics.get_realtime_metrics metrics.start_sampling_job metrics.stop_sampling_job metrics.list_sampling_jobs metrics.get_samples metrics.query_history network.get_status network.list_connections network.scan_wifi network.ping network.activate_connection network.add_connection network.update_connection network.confirm_connection service.list_services service.get_status service.validate_unit_file service.control_service service.start service.stop service.restart service.set_enabled process.list_processes process.get_process_details process.send_signal camera.list_cameras camera.take_photo camera.capture camera.get_photo manage.get_server_status manage.get_capabilities manage.check_for_updates manage.update_server manage.get_update_status manage.preview_os_updates manage.apply_os_updates manage.rollback manage.mark_good manage.halt manage.export_settings logs.get_recent_app_logs logs.get_recent_audit_logs logs.query_journal files.read files.list files.write files.delete exec.run gpio.list_pins gpio.read_pin gpio.wait_for_edge gpio.configure_pin gpio.write_pin gpio.set_pwm gpio.release_pin i2c.list_buses i2c.scan_bus i2c.identify i2c.read i2c.write i2c.transfer spi.list_buses spi.transfer onewire.list_devices onewire.read serial.list_ports serial.open serial.read serial.write serial.close sensors.list sensors.read vector.search vector.get_page vector.get_status vector.rebuild agents.spawn agents.send_task agents.list agents.get_status agents.shutdown tools.describe tools.run tools.run_read tools.search"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from call" -f -a "system.get_basic_info system.get_health_snapshot system.get_capabilities system.get_clock system.get_network_info system.get_detailed_network_info system.list_packages system.list_devices system.set_hostname system.set_timezone system.reboot system.shutdown metrics.get_realtime_metrics metrics.start_sampling_job metrics.stop_sampling_job metrics.list_sampling_jobs metrics.get_samples metrics.query_history network.get_status network.list_connections network.scan_wifi network.ping network.activate_connection network.add_connection network.update_connection network.confirm_connection service.list_services service.get_status service.validate_unit_file service.control_service service.start service.stop service.restart service.set_enabled process.list_processes process.get_process_details process.send_signal camera.list_cameras camera.take_photo camera.capture camera.get_photo manage.get_server_status manage.get_capabilities manage.check_for_updates manage.update_server manage.get_update_status manage.preview_os_updates manage.apply_os_updates manage.rollback manage.mark_good manage.halt manage.export_settings logs.get_recent_app_logs logs.get_recent_audit_logs logs.query_journal files.read files.list files.write files.delete exec.run gpio.list_pins gpio.read_pin gpio.wait_for_edge gpio.configure_pin gpio.write_pin gpio.set_pwm gpio.release_pin i2c.list_buses i2c.scan_bus i2c.identify i2c.read i2c.write i2c.transfer spi.list_buses spi.transfer onewire.list_devices onewire.read serial.list_ports serial.open serial.read serial.write serial.close sensors.list sensors.read vector.search vector.get_page vector.get_status vector.rebuild agents.spawn agents.send_task agents.list agents.get_status agents.shutdown tools.describe tools.run tools.run_read tools.search"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -f -a "system.get_basic_info system.get_health_snapshot system.get_capabilities system.get_clock system.get_network_info system.get_detailed_network_info system.list_packages system.list_devices system.set_hostname system.set_timezone system.reboot system.shutdown metrics.get_realtime_metrics metrics.start_sampling_job metrics.stop_sampling_job metrics.list_sampling_jobs metrics.get_samples metrics.query_history network.get_status network.list_connections network.scan_wifi network.ping network.activate_connection network.add_connection network.update_connection network.confirm_connection service.list_services service.get_status service.validate_unit_file service.control_service service.start service.stop service.restart service.set_enabled process.list_processes process.get_process_details process.send_signal camera.list_cameras camera.take_photo camera.capture camera.get_photo manage.get_server_status manage.get_capabilities manage.check_for_updates manage.update_server manage.get_update_status manage.preview_os_updates manage.apply_os_updates manage.rollback manage.mark_good manage.halt manage.export_settings logs.get_recent_app_logs logs.get_recent_audit_logs logs.query_journal files.read files.list files.write files.delete exec.run gpio.list_pins gpio.read_pin gpio.wait_for_edge gpio.configure_pin gpio.write_pin gpio.set_pwm gpio.release_pin i2c.list_buses i2c.scan_bus i2c.identify i2c.read i2c.write i2c.transfer spi.list_buses spi.transfer onewire.list_devices onewire.read serial.list_ports serial.open serial.read serial.write serial.close sensors.list sensors.read vector.search vector.get_page vector.get_status vector.rebuild agents.spawn agents.send_task agents.list agents.get_status agents.shutdown tools.describe tools.run tools.run_read tools.search"
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -f -a "system.get_basic_info system.get_health_snapshot system.get_capabilities system.get_clock system.get_network_info system.get_detailed_network_info system.list_packages system.list_devices system.set_hostname system.set_timezone system.reboot system.shutdown metrics.get_realtime_metrics metrics.start_sampling_job metrics.stop_sampling_job metrics.list_sampling_jobs metrics.get_samples metrics.query_history network.get_status network.list_connections network.scan_wifi network.ping network.activate_connection network.add_connection network.update_connection network.confirm_connection service.list_services service.get_status service.validate_unit_file service.control_service service.start service.stop service.restart service.set_enabled process.list_processes process.get_process_details process.send_signal camera.list_cameras camera.take_photo camera.capture camera.get_photo manage.get_server_status manage.get_capabilities manage.check_for_updates manage.update_server manage.get_update_status manage.preview_os_updates manage.apply_os_updates manage.rollback manage.mark_good manage.halt manage.export_settings logs.get_recent_app_logs logs.get_recent_audit_logs logs.query_journal files.read files.list files.write files.delete exec.run gpio.list_pins gpio.read_pin gpio.wait_for_edge gpio.configure_pin gpio.write_pin gpio.set_pwm gpio.release_pin i2c.list_buses i2c.scan_bus i2c.identify i2c.read i2c.write i2c.transfer spi.list_buses spi.transfer onewire.list_devices onewire.read serial.list_ports serial.open serial.read serial.write serial.close sensors.list sensors.read vector.search vector.get_page vector.get_status vector.rebuild agents.spawn agents.send_task agents.list agents.get_status agents.shutdown tools.describe tools.run tools.run_read tools.search"
