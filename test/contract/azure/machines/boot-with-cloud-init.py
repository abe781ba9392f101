"""Boots a machine's custom data with Debian's cloud-init, in the mount namespace that it is started in.

Reads the custom data, as Azure hands it over, from standard input, and lets cloud-init's own code take the document apart and run its
boothook. What the hook writes lands in the file systems that the caller has put in place.
"""

import sys
import tempfile

from cloudinit import handlers, helpers, user_data
from cloudinit.handlers.boot_hook import BootHookPartHandler
from cloudinit.settings import PER_ALWAYS


class Machine:
    """What a boothook asks of the data source: an identity."""

    def get_instance_id(self):
        return "machine"

def main():
    scratch = tempfile.mkdtemp()
    machine = Machine()
    paths = helpers.Paths({"cloud_dir": scratch, "run_dir": scratch, "templates_dir": scratch}, ds=machine)
    message = user_data.UserDataProcessor(paths).process(sys.stdin.buffer.read())
    kinds = [part.get_content_type() for part in user_data_parts(message)]
    print("parts:", " ".join(kinds))
    hook = BootHookPartHandler(paths, machine)
    content_handlers = helpers.ContentHandlers()
    content_handlers.register(hook)
    data = {
        "handlers": content_handlers,
        "handlerdir": scratch,
        "data": None,
        "frequency": PER_ALWAYS,
        "handlercount": 0,
        "excluded": [],
    }
    handlers.walk(message, handlers.walker_callback, data=data)


def user_data_parts(message):
    return [part for part in message.walk() if part.get_content_maintype() != "multipart"]


main()
